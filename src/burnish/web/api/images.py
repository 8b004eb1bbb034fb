"""Images of task descriptions."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from burnish.core.images import TYPES
from burnish.errors import BadInput
from burnish.features.tasks.images import read_image, store_image
from burnish.web.api.schemas import ApiModel, Body, example
from burnish.web.deps import RegistryDep
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/images", tags=["tasks"], responses=PROBLEMS)


class ImageBody(Body):
    model_config = example(data="iVBORw0KGgo=", label="the login form")

    data: Annotated[str, Field(max_length=2_000_000)]
    """The content in base64: PNG, JPEG, GIF or WebP. The whole request is limited to 2 MB."""
    label: Annotated[str, Field(max_length=200)] = ""


class ImageOut(ApiModel):
    name: str
    markdown: str
    """What to write into the description."""


@router.post("", response_model=ImageOut)
def store(registry: RegistryDep, body: ImageBody) -> dict[str, str]:
    """Store an image for descriptions of tasks. The same content is stored once."""
    try:
        data = base64.b64decode(body.data, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput("The image is not in base64.", hint="Encode its bytes.") from None
    image = store_image(registry.home, data, body.label)
    return {"name": image.name, "markdown": image.markdown}


@router.get("/{name}", response_class=Response)
def show(registry: RegistryDep, name: Annotated[str, Path(max_length=80)]) -> Response:
    """A stored image."""
    data = read_image(registry.home, name)
    headers = {
        # nothing in it is ever a page, whatever its bytes are
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Content-Disposition": f'inline; filename="{name}"',
        "Cache-Control": "private, max-age=31536000, immutable",
    }
    return Response(data, media_type=TYPES[name.rpartition(".")[2]], headers=headers)
