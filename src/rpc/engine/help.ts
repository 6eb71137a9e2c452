import type { Example } from './example.ts';
import { examplesOf, type RpcMethod, scopeText, usage } from './method.ts';
import type { Param } from './params.ts';
import { anything, isInline, type Schema, schemaText } from './schema.ts';

const INDENT = '   ';

/** Help of one method: usage, description, arguments, result, scope and examples. `port` is that of the examples. */
export function methodHelp(method: RpcMethod, port: number): string {
  const { help, result } = method;
  if (method.removed) return `${method.name}\n\n${help}\n`;
  const params = method.params.filter(({ hidden }) => !hidden);
  return [
    usage(method),
    help,
    ...(params.length > 0 ? [`Arguments:\n${params.map(argumentText).join('\n')}`] : []),
    `Result:\n${schemaText(result)}`,
    `Scope: ${scopeText(method)}`,
    `Examples:\n${examplesOf(method)
      .map((example) => exampleText(method.name, example, port))
      .join('\n')}`,
  ].join('\n\n');
}

/** All methods by category but hidden ones, one line of usage each. */
export function methodList(methods: Iterable<RpcMethod>): string {
  const groups = Map.groupBy(
    [...methods].filter(({ hidden }) => !hidden),
    ({ category }) => category,
  );
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, members]) => {
      const title = category[0]!.toUpperCase() + category.slice(1);
      return [`== ${title} ==`, ...members.map(usage).sort()].join('\n');
    })
    .join('\n\n');
}

/**
 * `2. verbosity | verbose (integer or true or false, default 1)`, the description below, and below that the form of a
 * value that has parts.
 */
function argumentText({ name, required, aliases, fallback, schema = anything() }: Param<unknown>, i: number): string {
  const names = [name, ...aliases].join(' | ');
  const when = required ? 'required' : fallback === undefined ? 'optional' : `default ${JSON.stringify(fallback)}`;
  const form: Schema = { ...schema, note: '' };
  return [
    `${i + 1}. ${names} (${isInline(form) ? `${schemaText(form, ' or ')}, ` : ''}${when})`,
    ...[schema.note, isInline(form) ? '' : schemaText(form)]
      .filter((text) => text !== '')
      .map((text) => text.replaceAll(/^/gm, INDENT)),
  ].join('\n');
}

function exampleText(method: string, { params, about }: Example, port: number): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const call = `> curl -H "Authorization: Bearer $API_KEY" http://127.0.0.1:${port}/ -d '${body}'`;
  return about === '' ? call : `${about}\n${call}`;
}
