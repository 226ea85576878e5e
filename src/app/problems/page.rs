//! The catalogue as pages for people.
//!
//! They are made of constants and of the public URL: nothing in them comes from a caller, so nothing is
//! escaped. Their links are relative, so that they work behind a proxy that strips a prefix.

use std::fmt::Write;

use axum::{
    http::{
        StatusCode,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};

use super::ProblemType;

const STYLE: &str = include_str!("page.css");

/// Every kind of problem, by status.
pub(super) fn list(mut kinds: Vec<ProblemType>) -> Response {
    kinds.sort_by_key(|kind| kind.status);
    let mut main = String::from(
        "<h1>Problems</h1>\n<p>What a request can be refused with. An answer with one of these is a \
         problem document (RFC 9457), and its <code>code</code> never changes.</p>\n",
    );
    for of_status in kinds.chunk_by(|one, other| one.status == other.status) {
        writeln!(main, "<h2>{}</h2>", status(&of_status[0])).ok();
        for ProblemType {
            code,
            title,
            advice,
            ..
        } in of_status
        {
            let advice = marked(advice);
            write!(
                main,
                "<article>\n<h3>{title}</h3>\n<p><a href=\"problems/{code}\"><code>{code}</code></a></p>\n\
                 <p>{advice}</p>\n</article>\n"
            )
            .ok();
        }
    }
    page("Problems", &main)
}

/// One kind of problem.
pub(super) fn read(kind: &ProblemType) -> Response {
    let ProblemType {
        code,
        title,
        advice,
        uri,
        ..
    } = kind;
    let (status, advice) = (status(kind), marked(advice));
    let main = format!(
        "<p><a href=\"../problems\">Problems</a></p>\n<h1>{title}</h1>\n<p>{advice}</p>\n\
         <dl>\n<dt>Code</dt><dd><code>{code}</code></dd>\n<dt>Status</dt><dd>{status}</dd>\n\
         <dt>Type</dt><dd><code>{uri}</code></dd>\n</dl>\n"
    );
    page(title, &main)
}

/// What stands between backticks is code.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(number, part)| match number % 2 {
            0 => part.to_owned(),
            _ => format!("<code>{part}</code>"),
        })
        .collect()
}

/// The status with its name, as in `404 Not Found`.
fn status(kind: &ProblemType) -> String {
    StatusCode::from_u16(kind.status).map_or_else(|_| kind.status.to_string(), |it| it.to_string())
}

fn page(title: &str, main: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} – member-mail</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{main}</main>\n</body>\n</html>\n"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ),
    ];
    (headers, html).into_response()
}
