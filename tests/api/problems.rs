//! `/problems`

use hyper::Method;
use member_mail::problem::Code;

use crate::kit::App;

#[tokio::test]
async fn the_type_of_a_problem_leads_to_what_it_means() {
    let app = App::start().await;
    let problem = app
        .get("/api/v1/nothing")
        .await
        .problem(404, "route_not_found");
    let kind = app
        .get(problem["type"].as_str().expect("type"))
        .await
        .expect(200);
    for member in ["type", "code", "status", "title"] {
        assert_eq!(kind.body[member], problem[member], "{member}");
    }
}

#[tokio::test]
async fn the_catalogue_has_every_problem_once() {
    let app = App::start().await;
    let listed = app.get("/problems").await.expect(200).body;
    let listed: Vec<_> = listed["data"].as_array().expect("data").iter().collect();
    let codes: Vec<_> = listed.iter().map(|kind| kind["code"].as_str()).collect();
    assert_eq!(
        codes,
        Code::ALL
            .iter()
            .map(|code| Some(code.as_str()))
            .collect::<Vec<_>>()
    );
    for kind in listed {
        let path = kind["type"].as_str().expect("type");
        assert_eq!(&app.get(path).await.expect(200).body, kind);
    }
    app.get("/problems/nothing")
        .await
        .problem(404, "route_not_found");
}

/// What browsers send.
const ACCEPTED: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn a_browser_gets_pages_that_lead_to_one_another() {
    let app = App::start().await;
    let page = async |path: &str| {
        let request = app.request(Method::GET, path).header("accept", ACCEPTED);
        let page = request.send().await.expect(200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("vary"), "accept");
        // Everything is in the page itself.
        for elsewhere in ["src=", "<link", "<script", "url(", "//"] {
            assert!(
                !page.text.contains(elsewhere),
                "{elsewhere} in {}",
                page.text
            );
        }
        page.text
    };
    let list = page("/problems").await;
    for code in Code::ALL {
        let (code, title) = (code.as_str(), code.entry().title);
        // Relative, so that it holds behind a proxy that strips a prefix.
        assert!(
            list.contains(&format!("href=\"problems/{code}\"")),
            "{code}"
        );
        assert!(list.contains(title), "{title}");
        let one = page(&format!("/problems/{code}")).await;
        assert!(one.contains("href=\"../problems\""), "{one}");
        assert!(one.contains(title) && one.contains(code), "{one}");
    }
}

#[tokio::test]
async fn whoever_accepts_neither_form_gets_json() {
    let app = App::start().await;
    for path in ["/problems", "/problems/email_taken"] {
        for accept in ["text/csv", "text/html;q=0, image/*", "*/*;q=0"] {
            let request = app.request(Method::GET, path).header("accept", accept);
            let answer = request.send().await.expect(200);
            assert_eq!(answer.header("content-type"), "application/json");
            assert_eq!(answer.header("vary"), "accept");
        }
    }
}
