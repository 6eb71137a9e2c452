import { expect, test } from 'bun:test';
import { coins } from '../../../src/http/core-number.ts';
import { sat } from '../../../src/http/sat.ts';
import { NumberText, parseJson, type RpcObject } from '../../../src/rpc/engine/json.ts';
import { KeyQueue } from '../../../src/rpc/engine/key-queue.ts';
import { readArguments } from '../../../src/rpc/engine/method.ts';
import { integerParam, optional, options, positional, readAmount, textParam } from '../../../src/rpc/engine/params.ts';
import { RPC_METHODS } from '../../../src/rpc/methods/methods.ts';

const COIN = 100_000_000n;

test('amounts are parsed from their digits', () => {
  const read = (digits: string) => readAmount(new NumberText(digits));
  expect(read('0.00000001')).toBe(1n);
  expect(read('0.1')).toBe(10_000_000n);
  expect(read('20999999.99999999')).toBe(21_000_000n * COIN - 1n);
  expect(read('21000000')).toBe(21_000_000n * COIN);
  expect(read('1e-8')).toBe(1n);
  expect(read('1.5e1')).toBe(15n * COIN);
  expect(read('-0')).toBe(0n);
  expect(readAmount('1.23')).toBe(123_000_000n);
  for (const digits of ['0.000000001', '1e-9', '01', '.1', '1.', '', ' 1', '1e99999', '0x1', '9'.repeat(200)])
    expect(() => readAmount(digits)).toThrow('Invalid amount');
  for (const digits of ['-1', '21000000.00000001', '-0.00000001'])
    expect(() => read(digits)).toThrow('Amount out of range');
  expect(() => readAmount(true)).toThrow('Amount is not a number or string');
});

test('amounts are written with eight decimals, whatever their size', () => {
  expect(JSON.stringify([0n, 1n, -1n, 10n, -150_000_000n, 2_099_999_997_690_000n].map(coins))).toBe(
    '[0.00000000,0.00000001,-0.00000001,0.00000010,-1.50000000,20999999.97690000]',
  );
});

test('sums beyond 2^53 keep their last digit', () => {
  expect(JSON.stringify({ received: sat(12_345_678_901_234_567_891n) })).toBe('{"received":12345678901234567891}');
});

test('numbers keep the text they were written with', () => {
  expect(JSON.stringify(parseJson('{"a":[1.50,1e3,-0],"__proto__":12345678901234567890}'))).toBe(
    '{"a":[1.50,1e3,-0],"__proto__":12345678901234567890}',
  );
});

test('methods that spend accept the same named arguments as Core', () => {
  const read = (method: string, json: string) => readArguments(RPC_METHODS.get(method)!, parseJson(json));
  const outputs = '"outputs":[{"data":"00"}]';
  const settings = (json: string) => JSON.stringify(read('send', `{${outputs},${json}}`)[4]);
  expect(settings('"change_address":"x","lock_unspents":true')).toBe('{"lock_unspents":true,"change_address":"x"}');
  expect(settings('"options":{"changeAddress":"x"}')).toBe('{"changeAddress":"x"}');
  // conf_target has a position of its own.
  expect(settings('"conf_target":6')).toBe('{}');
  for (const [method, name] of [
    ['send', 'changeAddress'],
    ['send', 'input_weights'],
    ['sendall', 'change_address'],
    ['walletcreatefundedpsbt', 'input_weights'],
    ['fundrawtransaction', 'change_address'],
    ['bumpfee', 'psbt_version'],
    ['psbtbumpfee', 'confTarget'],
  ] as const)
    expect(() => read(method, `{"${name}":1}`)).toThrow(`Unknown named parameter ${name}`);
  expect(() => read('sendtoaddress', '{"address":"x","amount":1,"conf_target":"6"}')).toThrow(
    '"Position 7 (conf_target)": "JSON value of type string is not of expected type number"',
  );
});

test('named arguments are converted to positions', () => {
  const params = [
    textParam('a'),
    optional(textParam('b', { aliases: ['bee'] }), ''),
    optional(integerParam('c'), 0),
    options('d', ['x', 'y']),
  ];
  const place = (json: string) => JSON.stringify(positional(parseJson(json) as RpcObject, params));
  expect(place('{"a":"1"}')).toBe('["1"]');
  expect(place('{"c":3}')).toBe('[null,null,3]');
  expect(place('{"bee":"2","a":"1"}')).toBe('["1","2"]');
  expect(place('{"a":"1","y":2,"x":1}')).toBe('["1",null,null,{"x":1,"y":2}]');
  expect(place('{"args":["1"],"c":3}')).toBe('["1",null,3]');
  expect(place('{"args":["1","2","3","4"]}')).toBe('["1","2","3","4"]');
  expect(() => place('{"args":["1","2"],"b":"x"}')).toThrow(
    'Parameter b|bee specified twice both as positional and named argument',
  );
  expect(() => place('{"d":{},"x":1}')).toThrow('Parameter d conflicts with parameter x');
  expect(() => place('{"a":"1","a":"2"}')).toThrow('Parameter a specified multiple times');
  expect(() => place('{"args":["1"],"args":["2"]}')).toThrow('Parameter args specified multiple times');
  expect(() => place('{"nope":1}')).toThrow('Unknown named parameter nope');
  expect(() => place('{"args":5}')).not.toThrow();
});

test('sixteen requests of one key run, sixty-four wait and the next is refused, without an effect on other keys', async () => {
  const queue = new KeyQueue({ rpcMaxRunning: 16, rpcMaxQueued: 64 });
  const gate = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await gate.promise;
    running--;
  };
  const calls = Array.from({ length: 80 }, () => queue.run('a', work));
  expect(() => queue.run('a', work)).toThrow(expect.objectContaining({ failure: 'rate_limited' }));
  const other = queue.run('b', work);
  expect(running).toBe(17);
  gate.resolve();
  await Promise.all([...calls, other]);
  expect([running, most]).toEqual([0, 17]);
  await queue.run('a', work);
});
