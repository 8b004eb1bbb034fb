from burnish.library import (
    BurnishError as BurnishError,
)
from burnish.library import (
    ChangeReview as ChangeReview,
)
from burnish.library import (
    Event as Event,
)
from burnish.library import (
    Finding as Finding,
)
from burnish.library import (
    Project as Project,
)
from burnish.library import (
    Status as Status,
)
from burnish.library import (
    Task as Task,
)
from burnish.library import (
    open_project as open_project,
)

__version__: str
