//! Small protocols, and the code that is generated from them.

mod generated;
mod note;
mod star_branch;
