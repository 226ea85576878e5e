//! The page at `/`, and its files.

use std::{collections::BTreeSet, fs};

use hyper::Method;

use crate::kit::{Answer, App, document::DOCUMENT};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The references of a file to others of the page, from where the service's root is.
fn references(text: &str) -> BTreeSet<String> {
    let quoted = text.split('"').skip(1).step_by(2);
    quoted
        .filter_map(|quoted| match quoted.strip_prefix("./") {
            Some(module) if !module.is_empty() => Some(format!("page/{module}")),
            _ => quoted.starts_with("page/").then(|| quoted.to_owned()),
        })
        .collect()
}

/// The page and every file that it leads to, with their answers.
async fn files(app: &App) -> Vec<(String, Answer)> {
    let mut files = Vec::new();
    let mut found = BTreeSet::from([String::new()]);
    let mut waiting = vec![String::new()];
    while let Some(file) = waiting.pop() {
        let answer = app.get(&format!("/{file}")).await.expect(200);
        for reference in references(&answer.text) {
            if found.insert(reference.clone()) {
                waiting.push(reference);
            }
        }
        files.push((format!("/{file}"), answer));
    }
    files
}

#[tokio::test]
async fn the_page_leads_to_all_of_its_files_and_to_no_others() {
    let app = App::start().await;
    let reached: BTreeSet<_> = files(&app)
        .await
        .into_iter()
        .map(|(path, _)| path.trim_start_matches("/page/").to_owned())
        .collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/app/page");
    let there: BTreeSet<_> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("UTF-8"))
        .filter(|name| name != "mod.rs")
        .map(|name| match name.as_str() {
            "index.html" => "/".to_owned(),
            _ => name,
        })
        .collect();
    assert_eq!(reached, there);
}

#[tokio::test]
async fn each_file_has_its_type_and_may_load_nothing_from_elsewhere() {
    let app = App::start().await;
    for (path, answer) in files(&app).await {
        let expected = match path.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("mjs") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(answer.header("content-type"), expected, "{path}");
        assert_eq!(answer.header("content-security-policy"), POLICY, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("cache-control"), "no-cache", "{path}");
    }
}

#[tokio::test]
async fn the_page_has_nothing_inline_and_refers_to_nothing_by_its_root() {
    let app = App::start().await;
    let html = app.get("/").await.expect(200).text;
    let words = html.split_whitespace();
    let attributes: Vec<_> = words.filter(|word| word.contains('=')).collect();
    for attribute in attributes {
        let inline = attribute.starts_with("style=") || attribute.starts_with("on");
        assert!(!inline, "{attribute}");
    }
    for part in [
        "<style",
        "<script>",
        "=\"/",
        "http:",
        "https:",
        "javascript:",
    ] {
        assert!(!html.contains(part), "{part}");
    }
}

#[tokio::test]
async fn a_file_that_has_not_changed_is_not_sent_again() {
    let app = App::start().await;
    for path in ["/", "/page/page.css"] {
        let whole = app.get(path).await.expect(200);
        let tag = whole.header("etag");
        let ask = |tag: &str| {
            let request = app.request(Method::GET, path);
            request.header("if-none-match", tag).send()
        };
        // Of the compressed answer, and as a proxy weakens it.
        let gzipped = format!("{}-gzip\"", tag.trim_end_matches('"'));
        for tag in [tag, &gzipped, &format!("W/{tag}"), "*"] {
            let unchanged = ask(tag).await.expect(304);
            assert_eq!(unchanged.text, "");
            for name in ["cache-control", "content-security-policy", "etag"] {
                assert!(unchanged.headers.contains_key(name), "{path}: {name}");
            }
        }
        assert_eq!(ask("\"1\"").await.expect(200).text, whole.text);
    }
    let tags = files(&app).await.into_iter();
    let tags: Vec<_> = tags
        .map(|(_, answer)| answer.header("etag").to_owned())
        .collect();
    let distinct: BTreeSet<_> = tags.iter().collect();
    assert_eq!(distinct.len(), tags.len(), "{tags:?}");
}

#[tokio::test]
async fn head_tells_of_a_file_what_get_does() {
    let app = App::start().await;
    for path in ["/", "/page/icon.svg"] {
        let get = app.get(path).await.expect(200);
        let head = app.request(Method::HEAD, path).send().await.expect(200);
        assert_eq!(head.text, "");
        for name in ["content-type", "content-length", "etag", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn the_address_of_the_page_may_say_what_it_shows() {
    let app = App::start().await;
    let page = app.get("/").await.expect(200);
    let searched = app
        .get("/?q=ann&status=active&page=2&utm=x")
        .await
        .expect(200);
    assert_eq!(searched.text, page.text);
}

#[test]
fn the_page_is_no_operation_of_the_api() {
    let paths = DOCUMENT["paths"].as_object().expect("paths");
    assert!(
        paths
            .keys()
            .all(|path| path != "/" && !path.starts_with("/page"))
    );
}
