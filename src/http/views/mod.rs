//! Views: which fields of a resource a caller sees.
//!
//! A view is a named set of fields of each resource, from a file. An access key has one, which is its
//! ceiling; a platform has one, and `fields` names some: these only narrow. What a view hides is not
//! written, and neither can it be asked for or set.
//!
//! - `resource`: a resource whose fields can be hidden, and what is visible of all of them
//! - `serializer`: the one place where what is hidden is left out
//! - `file`: the views that are configured, and the platforms
//! - `operations`: what each operation shows, reads and writes, from the document
//! - `fields`: the parameter `fields`
//! - `layer`: what is around every request
//! - `openapi`: the views' place in the document

mod fields;
mod file;
mod layer;
mod openapi;
mod operations;
mod resource;
mod serializer;

use serde::Serialize;

pub(super) use fields::FIELDS;
pub use file::{EVERYTHING, Views, ViewsError};
pub use layer::{Ceiling, Shaping, shape};
pub use openapi::document_views;
pub use operations::Operations;
pub use resource::{Resource, Visible};
pub use serializer::{to_value, write};

use crate::problem::{Code, Problem};

tokio::task_local! {
    /// What is visible in the answer to the request that this task is at.
    static VISIBLE: Visible;
}

/// What the request that is being answered may show.
///
/// # Errors
/// [`Code::InternalError`] where nobody found that out: then nothing is shown.
pub fn visible() -> Result<Visible, Problem> {
    VISIBLE.try_with(Visible::clone).map_err(|_| {
        tracing::error!("an answer was written outside of the layer of views");
        Code::InternalError.into()
    })
}

/// The JSON of `value`, as far as it is visible in the answer to this request.
///
/// # Errors
/// As [`visible`].
pub(super) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    let mut json = Vec::with_capacity(512);
    // What is answered has a JSON form.
    write(&mut json, value, &visible()?).map_err(|_| Code::InternalError)?;
    Ok(json)
}
