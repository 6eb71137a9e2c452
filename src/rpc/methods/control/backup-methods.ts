import { dirname, join, resolve } from 'node:path';
import { isFileName } from '../../../util/file-name.ts';
import { example } from '../../engine/example.ts';
import { member, type RpcObject } from '../../engine/json.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { optional, options, readBool, readInteger, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hashStr, int, nil, obj, str } from '../../engine/schema.ts';

const DEFAULT_RATE = 100;
const MAX_RATE = 100_000;

const OPTIONS = {
  chain: bool('whether the backup holds the chain and its indexes; false by default'),
  rate: int(`most MiB that are read in a second; ${DEFAULT_RATE} by default, 0 for no limit`),
};

const backupnode = nodeMethod({
  name: 'backupnode',
  category: 'control',
  help: 'Writes a backup of wallets, API keys, watches, webhooks and settings to a new directory, and of the chain where that is asked for. The node answers other calls meanwhile. The directory is named DESTINATION.part until the backup is complete. A call that was interrupted is continued by the same call. It ends when the client disconnects.',
  params: [
    textParam('destination', {
      note: 'Directory to be written, which must not exist or be empty. A relative path begins in the directory of backups. API keys name a directory there, without a path; the cookie, which only this machine can read, may name any path.',
    }),
    optional(options('options', OPTIONS, { note: 'Content and rate of the backup.' }), {} as RpcObject),
  ],
  result: obj({
    path: str('absolute path of the backup'),
    tip: anyOf(
      obj({ height: int('height of the block'), hash: hashStr('hash of the block') }, 'the tip of the chain in it'),
      nil('it holds no chain'),
    ),
    files: int('number of files'),
    bytes: int('size of all files'),
    written: int('bytes that this call has written; an interrupted one has written the others'),
    omitted: arr(
      obj({ setting: str('the setting'), path: str('absolute path of the file') }),
      'files that settings name, such as TLS keys, which are not part of a backup',
    ),
  }),
  examples: [example(['2026-11-24']), example(['2026-11-24-chain', { chain: true, rate: 50 }])],
  scope: 'admin',
  long: true,
  run(env, given, wanted) {
    const target = backupPath(env, given);
    const chain = member(wanted, 'chain');
    const withChain = chain !== null && readBool(chain);
    const rate = member(wanted, 'rate');
    const mebibytesPerSecond = rate === null ? DEFAULT_RATE : readInteger(rate);
    if (mebibytesPerSecond < 0 || mebibytesPerSecond > MAX_RATE)
      return rpcFail('invalidParameter', `rate must be between 0 and ${MAX_RATE}`);
    const { ctx, signal, queueSlot } = env;
    // Releases the slot of the key, so that the same key can make other calls.
    return queueSlot.releaseDuring(async () =>
      orFail(await ctx.node().callUntil(signal, 'backupNode', { target, withChain, mebibytesPerSecond })),
    );
  },
});

/** Keys may belong to other machines, so they do not reach directories elsewhere. */
function backupPath({ ctx, call }: MainThreadEnv, given: string): string {
  const folder = join(dirname(ctx.options.networkDir), 'backups');
  const anywhere = call === null || call.principal.kind === 'cookie';
  if (given === '' || (!anywhere && (!isFileName(given) || given.endsWith('.part'))))
    rpcFail(
      'invalidParameter',
      'an API key names a directory among the backups, without a path; the cookie may name any path',
    );
  return resolve(folder, given);
}

export const backupMethods: readonly RpcMethod[] = [backupnode];
