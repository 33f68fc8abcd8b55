"""Types of parameters in the reference of the site."""

from typing import Any

import griffe


class OwnTypes(griffe.Extension):
    """Gives each parameter the type and the default of the signature where several have one description.

    The parser gives those of the first one to all.
    """

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Mend the parameters in the docstring of a function."""
        if func.docstring is None:
            return
        func.docstring.parser = griffe.Parser.numpy
        for section in func.docstring.parsed:
            if section.kind is not griffe.DocstringSectionKind.parameters:
                continue
            known = [one for one in section.value if one.name in func.parameters]
            from_signature = [func.parameters[one.name].annotation for one in known]
            for one in known:
                if one.annotation in from_signature:
                    one.annotation = func.parameters[one.name].annotation
                    one.value = func.parameters[one.name].default
