"""Images of task descriptions: stored once in the burnish home, by their content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.task_files import IMAGES
from burnish.core.images import MAX_BYTES, NAME, image_kind, image_name, image_names, image_reference
from burnish.core.task import Task
from burnish.errors import BadInput, NotFound
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular
from burnish.runtime.reader import refuse_inside_phase
from burnish.store import Store


@dataclass(frozen=True, slots=True)
class StoredImage:
    name: str
    # what a description refers to it by
    markdown: str


def store_image(home: Path, data: bytes, label: str) -> StoredImage:
    """Store an image for descriptions. Refused unless it is one by its bytes."""
    refuse_inside_phase()
    if len(data) > MAX_BYTES:
        raise BadInput(f"The image is larger than {MAX_BYTES // 1_000_000} MB.", hint="Make it smaller.")
    kind = image_kind(data)
    if kind is None:
        raise BadInput("It is not an image of a known type.", hint="Use PNG, JPEG, GIF or WebP.")
    name = image_name(data, kind)
    folder = home / IMAGES
    private_folder(folder)
    if not (folder / name).is_file():
        write_whole(folder / name, data)
    return StoredImage(name, image_reference(name, label))


def store_image_file(home: Path, file: Path) -> StoredImage:
    """`burnish add --image FILE`"""
    data = read_regular(file, longest=MAX_BYTES + 1)
    if data is None:
        raise BadInput(f"{file} is not a file that can be read.", hint="Give the path of an image.")
    return store_image(home, data, file.stem)


def read_image(home: Path, name: str) -> bytes:
    """A stored image; its name is checked, so that it leads to no other file."""
    data = read_regular(home / IMAGES / name, longest=MAX_BYTES + 1, follow=False) if NAME.fullmatch(name) else None
    if data is None:
        raise NotFound("There is no such image.", hint="It may have been removed from the burnish home.")
    return data


def remove_unused_images(home: Path, store: Store, task: Task) -> None:
    """Delete the images of a removed task that no other task of any project refers to."""
    names = set(image_names(task.spec.description))
    if names:
        names -= {name for other in store.tasks() for name in image_names(other.spec.description)}
    for name in names:
        (home / IMAGES / name).unlink(missing_ok=True)
