//! What every resource needs of HTTP, and no resource names.
//!
//! - [`extract`]: body, query and path, with rejections that are problems
//! - [`decode`]: from JSON or parameters to a typed value, finding every error at once
//! - [`entity_tag`]: entity tags, made from versions
//! - [`conditional`]: preconditions: which versions a request is meant for
//! - [`merge_patch`]: JSON merge patch
//! - [`access`]: who may do what
//! - [`audit`]: who writes what, as the audit log has it
//! - [`answer`]: a resource as an answer, with its entity tag
//! - [`one_or_many`]: a body that is one resource, or a list of them
//! - [`batch`]: many items in one request
//! - [`prefer`]: answers without the representation
//! - [`idempotency`]: writes that are done once for each key
//! - [`openapi`]: what parameters in the header add to the document
//! - [`list`]: lists: their order, their pages, and the links between these
//! - [`negotiate`]: the form of an answer, chosen by `Accept`
//! - [`compression`]: answers in gzip
//! - [`cors`]: what pages of other origins may do
//! - [`body`]: the body of a request, read whole and within bounds
//! - [`host`]: the names by which the service may be called
//! - [`client_address`]: where a request comes from
//! - [`rate_limit`]: how many requests a client may send
//! - [`edge`]: what is around all requests
//! - [`layers`]: what happens to every request: id, log line, limits, deadline
//! - [`streams`]: how many lists may be streamed at the same time
//! - [`sweep`]: the removal of what has expired
//! - [`unknown_parameters`]: query parameters that an operation does not declare
//! - [`server`]: connections, and how they end
//! - [`snapshot`]: a connection that reads one snapshot
//! - [`transfer`]: an answer whose body is made while it is sent
//! - [`views`]: which fields of a resource a caller sees
//! - `stall`: a stream whose writes do not wait for ever

pub mod access;
pub mod answer;
pub mod audit;
pub mod batch;
pub mod body;
pub mod client_address;
pub mod compression;
pub mod conditional;
pub mod cors;
pub mod decode;
pub mod edge;
pub mod entity_tag;
pub mod extract;
pub mod host;
pub mod idempotency;
pub mod layers;
pub mod list;
pub mod merge_patch;
pub mod negotiate;
pub mod one_or_many;
pub mod openapi;
pub mod prefer;
pub mod rate_limit;
pub mod server;
pub mod snapshot;
mod stall;
pub mod streams;
pub mod sweep;
pub mod transfer;
pub mod unknown_parameters;
pub mod views;
