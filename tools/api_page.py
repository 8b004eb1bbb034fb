"""`docs/api-reference.md`, made from the routes by `python -m tools.api_page > docs/api-reference.md`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from fastapi import FastAPI

from burnish.web import api

HEAD = """# API reference

```console
$ curl -s -H @headers http://127.0.0.1:4270/api/v1/openapi.json     # the same for programs
```

Generated from the code by `python -m tools.api_page > docs/api-reference.md`; a test fails if it is out of date.

[The API](api.md) explains tokens, errors, lists and events.
"""
PROJECT = "/api/v1/projects/{project}"
ROUTE_COLUMNS = "| field | type | default | meaning |\n|---|---|---|---|"
SHAPE_COLUMNS = "| field | type | meaning |\n|---|---|---|"
Schema = Mapping[str, Any]


def api_page() -> str:
    """The text of the page."""
    app = FastAPI()
    for router in api.routers():
        app.include_router(router)
    description = app.openapi()
    shapes = description["components"]["schemas"]
    routes = [
        (path, method, route) for path, methods in description["paths"].items() for method, route in methods.items()
    ]
    routes.sort(key=lambda route: (_group(route[0]) != "Of a project", _group(route[0])))
    parts = [HEAD]
    for group, listed in groupby(routes, key=lambda route: _group(route[0])):
        parts.append(f"## {group}\n\n")
        if group == "Of a project":
            parts.append(f"Paths below `{PROJECT}`.\n\n")
        parts += [_route(path.removeprefix(PROJECT), method, route, shapes) for path, method, route in listed]
    parts.append("## Shapes\n\nObjects may get more fields in later versions.\n\n")
    parts += [_shape(name, shapes[name]) for name in sorted(_linked_shapes(routes, shapes))]
    return "".join(parts).rstrip("\n") + "\n"


def _group(path: str) -> str:
    if path.startswith(f"{PROJECT}/"):
        return "Of a project"
    return "Of all projects" if path.startswith("/api/v1/") else "Routes of automaker"


def _route(path: str, method: str, route: Schema, shapes: Schema) -> str:
    parts = [f"### {method.upper()} {path}\n", " ".join(route.get("description", "").split()) + "\n"]
    rows = [*_query_rows(route), *_body_rows(method, route, shapes)]
    if rows:
        parts.append("\n".join([ROUTE_COLUMNS, *rows]) + "\n")
    status, schema = _answer(route)
    parts.append(f"Answer: {status}, {_type(schema)}.\n")
    return "\n".join(parts) + "\n"


def _query_rows(route: Schema) -> Iterator[str]:
    for parameter in route.get("parameters", ()):
        if parameter["in"] == "query":
            described = {**parameter["schema"], "description": parameter.get("description", "")}
            default = "required" if parameter.get("required") else _default(described)
            yield _field_row(f"`{parameter['name']}` (query)", described, default)


def _body_rows(method: str, route: Schema, shapes: Schema) -> Iterator[str]:
    for media in route.get("requestBody", {}).get("content", {}).values():
        shape = shapes[_reference(media["schema"])]
        for name, field in shape.get("properties", {}).items():
            default = "unchanged" if method == "patch" else _default(field)
            yield _field_row(f"`{name}`", field, "required" if name in shape.get("required", ()) else default)


def _field_row(name: str, field: Schema, default: str) -> str:
    return f"| {name} | {_type(field)} | {default} | {_cell(field.get('description', ''))} |"


def _default(field: Schema) -> str:
    value = field.get("default")
    return "" if value in (None, "", [], {}) or isinstance(value, Mapping) else f"`{json.dumps(value)}`"


def _shape(name: str, shape: Schema) -> str:
    if "enum" in shape:
        return f"### {name}\n\nOne of {', '.join(f'`{value}`' for value in shape['enum'])}.\n\n"
    rows = [
        f"| `{field}` | {_type(schema)} | {_cell(schema.get('description', ''))} |"
        for field, schema in shape.get("properties", {}).items()
    ]
    return "\n".join([f"### {name}\n", SHAPE_COLUMNS, *rows]) + "\n\n"


def _linked_shapes(routes: list[tuple[str, str, Schema]], shapes: Schema) -> set[str]:
    """The shapes of answers and of the fields of requests, with those of their own fields."""
    open_names = [name for _, _, route in routes for name in _references(_answer(route)[1])]
    for _, _, route in routes:
        for media in route.get("requestBody", {}).get("content", {}).values():
            open_names += _references(shapes[_reference(media["schema"])])
    names: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name not in names:
            names.add(name)
            open_names += _references(shapes[name])
    return names


def _answer(route: Schema) -> tuple[str, Schema]:
    status = min(code for code in route["responses"] if code.startswith("2"))
    content = route["responses"][status].get("content", {})
    return status, next((media["schema"] for media in content.values() if "schema" in media), {})


def _references(schema: Any) -> list[str]:
    return re.findall(r"#/components/schemas/(\w+)", json.dumps(schema))


def _reference(schema: Schema) -> str:
    return _references(schema)[0]


def _type(schema: Schema) -> str:
    """A type in words; shapes are linked."""
    if "$ref" in schema or "allOf" in schema:
        name = _reference(schema)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(choice) for choice in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, Mapping) and values else "object"
    return str(kind or "any")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(api_page(), end="")
