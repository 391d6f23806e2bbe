"""``eigenspan.methods`` is both the package of methods and a function that returns their table."""

import eigenspan


def test_the_package_of_methods_can_be_imported_and_called() -> None:
    import eigenspan.methods.base.contract as base
    from eigenspan import methods

    assert base.Reducer.__module__ == "eigenspan.methods.base.contract"
    assert methods is eigenspan.methods
    assert eigenspan.methods().equals(eigenspan.methods.registry.methods())
