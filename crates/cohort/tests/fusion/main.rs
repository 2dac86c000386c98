//! Label fusion against a naive form of it in double precision, and where it has little to go by.

mod degenerate;
mod naive;
mod oracle;
mod scene;
