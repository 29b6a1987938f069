import { pagePolicy } from '../answerHeaders.ts';
import { Html, html } from './html.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --good: #1a7f37; --bad: #c4302b; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem 1.5rem 4rem; }
header { display: flex; gap: 1rem; align-items: baseline; border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
header strong { flex: 1; }
h1 { font-size: 1.5rem; margin: 1rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td pre { margin: 0; max-height: 8rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.quiet { opacity: .7; }
.better { color: var(--good); }
.worse, .error { color: var(--bad); }
progress { width: 100%; height: 1rem; }
form.login { max-width: 24rem; }
label { display: block; margin: .75rem 0; }
input, select, button { font: inherit; padding: .3rem .5rem; }
form.login input { width: 100%; box-sizing: border-box; }
form.inline { display: inline; }
button.link { background: none; border: 0; padding: 0; color: LinkText; text-decoration: underline; cursor: pointer; }
`;

// Replaces the page's content by a newer one every two seconds while its run goes on; what ends the login shows the login.
const SCRIPT = `
const again = () => {
  const main = document.querySelector('main');
  if (main && 'underWay' in main.dataset) setTimeout(load, document.hidden ? 10000 : 2000);
};
async function load() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
    if (answer.redirected) return location.reload();
    if (answer.ok) {
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
      if (next) document.querySelector('main').replaceWith(next);
    }
  } catch {}
  again();
}
again();
`;

/** Headers of every page: it loads and sends nothing but what is its own. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': pagePolicy(SCRIPT, { hasForms: true }),
  // Without it a browser sends forms with the origin `null`.
  'Referrer-Policy': 'same-origin',
  Vary: 'Accept, Cookie',
};

export interface PageContent {
  title: string;
  main: Html;
  /** The path below which callers reach the service; empty for the root. */
  below: string;
  /** The e-mail address of whoever is logged in. */
  user?: string;
  /** Whether what is shown goes on changing: the page then renews itself. */
  isUnderWay?: boolean;
}

/** A whole page around its content. */
export const pageLayout = ({ title, main, user, below, isUnderWay = false }: PageContent): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Assay</title>
<link rel="icon" href="${below}/docs/assets/favicon-32x32.png">
${styleElement}
${isUnderWay && html`<noscript><meta http-equiv="refresh" content="5"></noscript>`}
</head>
<body>
<header><strong>Assay</strong> <a href="${below}/console">Console</a> <a href="${below}/docs">API document</a>
${user !== undefined && html`<span class="quiet">${user}</span> <form class="inline" method="post" action="${below}/pages/logout"><button class="link">Log out</button></form>`}
</header>
<main${isUnderWay && html` data-under-way`}>
${main}
</main>
${scriptElement}
</body>
</html>
`.text;

// Style and script are the page's own text: they are not escaped, and the policy names the script by its hash.
const styleElement = new Html(`<style>${STYLE}</style>`);
const scriptElement = new Html(`<script>${SCRIPT}</script>`);
