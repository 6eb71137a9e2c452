import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { routeExamples } from '../../src/server/docs/route-examples.ts';
import { OpenApi } from '../lib/open-api.ts';
import { requireProgram } from '../lib/programs.ts';
import { openApiText } from './documents.ts';

/** Replies with members that their schemas do not name, which classes do not keep. */
const OPEN = ['getReadyz200', 'getReadyz503'];
/** Name of the class that has one member for each reply. */
const ROOT = 'Replies';

/**
 * Reads `[member, reply]` pairs, and prints those that the classes refuse or change. Where quicktype makes one class of
 * several forms, a member that is null is as one that is missing.
 */
const PROGRAM = `
import json, sys
import replies
def without_nulls(value):
    if isinstance(value, list): return [without_nulls(each) for each in value]
    if not isinstance(value, dict): return value
    return {name: without_nulls(each) for name, each in value.items() if each is not None}
for member, reply in json.load(open(sys.argv[1])):
    given = without_nulls({member: reply})
    try:
        again = without_nulls(replies.${ROOT}.from_dict({member: reply}).to_dict())
        is_same = member in ${JSON.stringify(OPEN)} or again == given
        problem = None if is_same else 'becomes ' + json.dumps(again)
    except Exception as error:
        problem = type(error).__name__ + ' ' + str(error)
    if problem: print(member + ': ' + problem)
print('read')
`;

/** Returns a schema with a member for each JSON reply of success or failure, and the recorded examples of these. */
function repliesOf(api: OpenApi): { schema: object; examples: readonly (readonly [string, unknown])[] } {
  const properties: Record<string, unknown> = {};
  const examples: [string, unknown][] = [];
  for (const route of api.routes) {
    const { operationId, responses } = api.operation(route);
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = content?.['application/json']?.schema;
      if (schema) properties[`${operationId}${status}`] = schema;
    }
    for (const { status = 200, response } of Object.values(routeExamples()[route] ?? {}))
      if (properties[`${operationId}${status}`] && response !== undefined)
        examples.push([`${operationId}${status}`, response]);
  }
  const { components } = api.document;
  return { schema: { type: 'object', properties, additionalProperties: false, components }, examples };
}

test('quicktype makes Python classes from the schemas of the replies, and they read every recorded example', async () => {
  const { schema, examples } = repliesOf(new OpenApi(JSON.parse(await openApiText())));
  expect(examples.length).toBeGreaterThan(60);
  const input = new JSONSchemaInput(undefined);
  await input.addSource({ name: ROOT, schema: JSON.stringify(schema) });
  const inputData = new InputData();
  inputData.addInput(input);
  const { lines } = await quicktype({ inputData, lang: 'python', rendererOptions: { 'python-version': '3.7' } });
  const dir = mkdtempSync(join(tmpdir(), 'obverse-quicktype-'));
  try {
    writeFileSync(join(dir, 'replies.py'), lines.join('\n'));
    writeFileSync(join(dir, 'read.py'), PROGRAM);
    writeFileSync(join(dir, 'examples.json'), JSON.stringify(examples));
    const run = Bun.spawnSync([requireProgram('python3'), join(dir, 'read.py'), join(dir, 'examples.json')]);
    expect([run.stderr.toString(), run.stdout.toString().trim().split('\n')]).toEqual(['', ['read']]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 120_000);
