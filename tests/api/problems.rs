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

#[tokio::test]
async fn a_browser_gets_a_page() {
    let app = App::start().await;
    for path in ["/problems", "/problems/email_taken"] {
        let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let page = app.request(Method::GET, path).header("accept", accept);
        let page = page.send().await.expect(200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(page.header("vary"), "accept");
        assert!(page.text.contains("Another member has this e-mail address"));
        assert_eq!(app.get(path).await.header("vary"), "accept");
    }
}
