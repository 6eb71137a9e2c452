import type { LogCategory } from '../log-levels.ts';
import { fieldText, type LogLine } from '../log-lines.ts';
import { CHAIN_LINES } from './chain-lines.ts';
import type { CoreForms, EventFacts } from './core-form.ts';
import { NET_LINES } from './net-lines.ts';

/** Core's category of events that have no form of Core's. */
const CATEGORIES: Readonly<Record<LogCategory, string | null>> = {
  node: null,
  chain: 'validation',
  storage: 'blockstorage',
  mempool: 'mempool',
  p2p: 'net',
  wallet: 'walletdb',
  http: 'http',
  auth: 'http',
  events: null,
  webhooks: null,
};

const FORMS: CoreForms = {
  ...NET_LINES,
  ...CHAIN_LINES,
  'JSON-RPC call started': {
    category: 'rpc',
    text: ({ method, id }) => `ThreadRPCServer method=${method} id=${id ?? ''}`,
  },
};

/**
 * A line in the form of Bitcoin Core's `debug.log`: the time, the category in brackets or the level if it is a warning or an
 * error, and the text, which has Core's words where the event is the same.
 */
export const coreLine: LogLine = ({ level, nowMs, category, msg, base, fields }) => {
  const facts = { ...base, ...fields };
  const form = FORMS[msg];
  const words = form?.text(facts) ?? null;
  const text = words ?? ownText(msg, facts);
  const label = words !== null ? form!.category : category === null ? null : CATEGORIES[category];
  const time = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return `${time} ${prefixOf(level, label)}${escaped(text)}\n`;
};

function prefixOf(level: string, label: string | null): string {
  if (level === 'warn') return '[warning] ';
  if (level === 'error') return '[error] ';
  return level === 'info' || label === null ? '' : `[${label}] `;
}

function ownText(msg: string, facts: EventFacts): string {
  let text = msg;
  try {
    for (const [key, value] of Object.entries(facts)) if (value !== undefined) text += ` ${key}=${fieldText(value)}`;
  } catch {
    text += ' (fields not serializable)';
  }
  return text;
}

/** Facts may come from peers, so control characters are escaped and a line stays one. */
function escaped(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
  return text.replace(/[\x00-\x1f\x7f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
