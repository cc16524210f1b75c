"""For tests of this project and of anybody's parts: fakes beside the protocols they implement, and contract suites.

A contract suite is what every implementation of a protocol must do. Inherit it in a test class of your own and give
what its docstring asks for; it needs pytest, the fakes need nothing.

    from crag.testing.contracts import WebSearchContract

    class TestMySearch(WebSearchContract):
        @pytest.fixture
        def web(self):
            return MySearch(...)
"""
