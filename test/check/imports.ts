import { dirname, join, normalize } from 'node:path';

/** Top to bottom: a room may import itself and what stands after it. */
const ROOMS = [
  'main.ts',
  'cli',
  'node',
  'sandbox',
  'serve',
  'server',
  'dashboard',
  'rest',
  'rpc',
  'ws',
  'webhooks',
  'auth',
  'feed',
  'views',
  'sink',
  'queries',
  'port',
  'http',
  'wallet',
  'mining',
  'p2p',
  'mempool',
  'chain',
  'indexes',
  'storage',
  'policy',
  'params',
  'consensus',
  'script',
  'primitives',
  'crypto',
  'util',
];

/** Rooms that stand side by side: none of them may import another. */
const SIBLINGS = ['rest', 'rpc', 'ws'];

/** Folders of one room, of which the first may not import the second. */
const FOLDERS = [['src/rpc/engine/', 'src/rpc/methods/']] as const;

/** Folder of the code that browsers run: it is complete in itself, and of the program only the bundler reads it. */
const PAGES = 'src/dashboard/pages/';

// The configuration stands beside the order: only those who compose the program see it.
const CONFIG_IMPORTS = ['config', 'params', 'util'];
const CONFIG_IMPORTED_BY = ['main.ts', 'cli', 'node', 'config'];

/** Rooms of pure rules: values in, verdict out. */
const PURE_ROOMS = ['consensus', 'script'];
const PURE_UTIL = ['assert', 'bytes', 'result', 'secret-bytes'];
const WORLD =
  /\b(?:Date\.now|new Date\(\)|performance\.now|Math\.random|setTimeout|setInterval|fetch\(|process\.|Bun\.(?:file|write|listen|connect|serve|env|spawn|sql))/;

export interface SourceFile {
  /** From the project's root: `src/chain/connect.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Returns one line for each forbidden import of a file. */
export function checkImports({ path, text }: SourceFile): string[] {
  const room = roomOf(path);
  const code = withoutComments(text);
  const lines: string[] = [];
  if (room === null) return [`${path}: belongs to no room of src/`];
  for (const specifier of importsOf(code)) {
    const wrong = specifier.startsWith('.')
      ? wrongRelative(path, room, specifier)
      : PURE_ROOMS.includes(room) && /^(?:node|bun)(?::|$)/.test(specifier)
        ? 'rules import nothing of the runtime'
        : null;
    if (wrong) lines.push(`${path}: import of ${specifier}: ${wrong}`);
  }
  if (room !== 'main.ts' && /\bprocess\.exit\s*\(/.test(code)) lines.push(`${path}: only main.ts may exit the process`);
  for (const [, worker = ''] of code.matchAll(/\bnew\s+Worker\(\s*new\s+URL\(\s*['"](.+?)['"]/g)) {
    // In the executable all modules share one folder, so only a worker of the same folder is found from there too.
    if (!/^\.\/[^/]+-worker\.ts$/.test(worker))
      lines.push(`${path}: starts ${worker}: a worker is a file NAME-worker.ts beside the one that starts it`);
  }
  const world = PURE_ROOMS.includes(room) ? WORLD.exec(code) : null;
  if (world) lines.push(`${path}: uses ${world[0]}: rules see no clock, chance, files or network`);
  return lines;
}

/** Everything a module names to be loaded: imports of values and types, re-exports, require, workers. */
export function importsOf(code: string): string[] {
  const forms = [
    /^[ \t]*(?:import|export)\b[^'"`;]*?\bfrom\s*(['"])(.+?)\1/gm,
    /^[ \t]*import\s*(['"])(.+?)\1/gm,
    /\b(?:import|require)\s*\(\s*(['"])(.+?)\1/g,
    /\bnew\s+URL\(\s*(['"])(\.{1,2}\/.+?)\1\s*,\s*import\.meta\.url/g,
  ];
  return forms.flatMap((form) => [...code.matchAll(form)].map((match) => match[2]!));
}

function wrongRelative(path: string, room: string, specifier: string): string | null {
  const target = normalize(join(dirname(path), specifier));
  if (target === 'package.json') return null;
  if (!target.startsWith('src/')) return 'leaves src/';
  if (!/\.[a-z]+$/.test(target)) return 'has no file extension';
  const to = roomOf(target);
  if (to === null) return 'belongs to no room of src/';
  if (path.startsWith(PAGES) !== target.startsWith(PAGES))
    return path.startsWith(PAGES) ? `leaves ${PAGES}` : `${PAGES} is code of browsers`;
  const folders = FOLDERS.find(([below, above]) => path.startsWith(below) && target.startsWith(above));
  if (folders) return `${folders[0]} stands below ${folders[1]}`;
  if (room === 'config') return CONFIG_IMPORTS.includes(to) ? null : `config may not import ${to}`;
  if (to === 'config') return CONFIG_IMPORTED_BY.includes(room) ? null : `${room} may not import config`;
  if (room !== to && SIBLINGS.includes(room) && SIBLINGS.includes(to)) return `${room} stands beside ${to}`;
  if (ROOMS.indexOf(to) < ROOMS.indexOf(room)) return `${room} stands below ${to}`;
  if (
    PURE_ROOMS.includes(room) &&
    to === 'util' &&
    !PURE_UTIL.includes(target.slice('src/util/'.length, -'.ts'.length))
  )
    return 'rules import nothing of the runtime';
  return null;
}

function roomOf(path: string): string | null {
  const [, room = ''] = path.split('/');
  return ROOMS.includes(room) || room === 'config' ? room : null;
}

/** Good enough for code that a formatter has laid out: a `//` inside a string ends the line only where no colon is before it. */
export function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?<![:'"`\\])\/\/.*$/gm, '');
}
