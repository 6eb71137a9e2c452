import { example } from '../../engine/example.ts';
import type { NumberText, RpcValue } from '../../engine/json.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { any, optional, textParam } from '../../engine/params.ts';
import { anything, arr, str } from '../../engine/schema.ts';

const argument = <const N extends string>(name: N) => optional(any(name, { note: 'Any value.' }), null);

/** Core's `echo` and `echojson`: programs that test their client compare what they sent with what comes back. */
const echoMethod = (name: 'echo' | 'echojson') =>
  nodeMethod({
    name,
    hidden: true,
    variadic: true,
    category: 'control',
    help: 'Returns the arguments that it was given, for tests of clients.',
    params: [
      argument('arg0'),
      argument('arg1'),
      argument('arg2'),
      argument('arg3'),
      argument('arg4'),
      argument('arg5'),
      argument('arg6'),
      argument('arg7'),
      argument('arg8'),
      argument('arg9'),
    ],
    result: arr(anything(), 'the arguments in order'),
    examples: [example([]), example(['text', 1])],
    scope: 'read',
    run: (_env, ...args: (RpcValue | NumberText)[]) => args,
  });

const echo = echoMethod('echo');
const echojson = echoMethod('echojson');

const echoipc = nodeMethod({
  name: 'echoipc',
  hidden: true,
  category: 'control',
  help: 'Returns its argument. Core passes it through a second process where it is built with several.',
  params: [textParam('arg', { note: 'Any text.' })],
  result: str('the argument'),
  examples: [example(['text'])],
  scope: 'read',
  run: (_env, text) => text,
});

export const echoMethods: readonly RpcMethod[] = [echo, echojson, echoipc];
