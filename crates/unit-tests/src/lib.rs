//! Nothing: the tests of this package are those that stand beside the code of `core` and `traces`.
//!
//! A crate is compiled a second time for its unit tests, and cargo compiles it with the same
//! optimisation both times. Here they have a package, and so a profile, of their own: the engine
//! takes a fifth of the time to compile, and its unit tests are over in seconds all the same.
