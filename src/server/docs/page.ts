const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .5rem;border-bottom:1px solid #d8dee4}
details{margin:.25rem 0}summary{cursor:pointer;padding:.25rem 0}code,pre{font:13px/1.4 ui-monospace,monospace}
.method{display:inline-block;width:4.5rem;font-weight:600}.scope{color:#57606a;margin-left:.75rem}
pre{background:#f6f8fa;padding:.75rem;overflow:auto;max-height:24rem}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}h2{border-color:#30363d}pre{background:#161b22}.scope{color:#8d96a0}}
`;

const SCRIPT = `
const element = (name, text, className) => {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
};
const part = (label, value) => value === undefined ? [] : [element('div', label), element('pre', JSON.stringify(value, null, 2))];
const show = (spec) => {
  const groups = new Map();
  for (const [path, methods] of Object.entries(spec.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? 'other';
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ path, method, operation });
    }
  const main = document.querySelector('main');
  main.replaceChildren();
  document.querySelector('#version').textContent = spec.info.version;
  for (const [tag, routes] of groups) {
    main.append(element('h2', tag));
    for (const { path, method, operation } of routes) {
      const details = element('details');
      const summary = element('summary');
      summary.append(element('span', method.toUpperCase(), 'method'), element('code', path),
        element('span', operation['x-access'] ?? 'read', 'scope'));
      details.append(summary, element('p', operation.description ?? operation.summary ?? ''));
      details.append(...part('Parameters', operation.parameters), ...part('Body', operation.requestBody),
        ...part('Replies', operation.responses));
      main.append(details);
    }
  }
};
fetch('/docs/openapi.json').then((reply) => reply.json()).then(show)
  .catch(() => { document.querySelector('main').textContent = 'The description could not be loaded.'; });
`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Obverse API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Obverse API <small id="version"></small></h1>
<p>The description in machine form: <a href="/docs/openapi.json">/docs/openapi.json</a>. Requests carry a key:
<code>Authorization: Bearer obv1_…</code>. JSON-RPC is at <code>POST /</code>, events are at <code>/ws</code>.</p>
<main>Loading…</main>
<script>${SCRIPT}</script>
</body>
</html>
`;

/** Allows only the page's own style and script by their hashes, and requests to this server. */
const POLICY = [
  "default-src 'none'",
  `style-src ${hashSource(STYLE)}`,
  `script-src ${hashSource(SCRIPT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Returns the page at /docs. It lists the routes of /docs/openapi.json and requests nothing from other servers. */
export function docsPage(): Response {
  return new Response(PAGE, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
    },
  });
}

function hashSource(text: string): string {
  return `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`;
}
