"""How mkdocstrings reads this package: the last section of a docstring, and borrowed methods."""

import textwrap

import griffe


class House(griffe.Extension):
    """Shows `Example:` as code, and `fit = module.fit` in a class as the method that it is."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring:
            text, heading, example = obj.docstring.value.partition("\nExample:\n")
            if heading:
                example = textwrap.indent(example, "    ")
                obj.docstring.value = f"{text}\nExamples:\n{example}"

    def on_package(self, *, pkg, **kwargs):
        modules = [pkg]
        for module in modules:
            modules += [part for part in module.modules.values() if not part.is_alias]
            for each in module.classes.values():
                if not each.is_alias:
                    _add_borrowed_methods(each, pkg)


def _add_borrowed_methods(each, package):
    for name, attribute in list(each.attributes.items()):
        path = getattr(attribute.value, "canonical_path", "")
        if not attribute.is_alias and path.startswith(f"{package.path}."):
            try:
                method = package[path.removeprefix(f"{package.path}.")]
            except (KeyError, griffe.AliasResolutionError):  # or of another package
                continue
            if method.is_function:
                each.set_member(name, griffe.Alias(name, method, parent=each))
