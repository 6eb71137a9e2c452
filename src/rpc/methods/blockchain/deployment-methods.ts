import type { DeploymentName } from '../../../consensus/consensus-params.ts';
import { activationHeight, BURIED_DEPLOYMENTS, blockScriptFlags } from '../../../consensus/deployments.ts';
import { bip9Info, VersionBitsCache } from '../../../consensus/version-bits.ts';
import { rawJson } from '../../../http/raw-json.ts';
import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { StoredEntry } from '../../../queries/stored-entry.ts';
import { scriptFlagNames } from '../../../script/flags.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { hashParam, optional } from '../../engine/params.ts';
import { arr, bool, hashStr, int, mapOf, maybe, obj, str, unixTime } from '../../engine/schema.ts';
import { findBlock } from './blockchain-methods.ts';

/** Microseconds to read a header. */
const HEADER_US = 8;
/** Core's start time of a deployment that is active from the genesis block, and its timeout without an end. */
const ALWAYS_ACTIVE = -1;
const NO_TIMEOUT = rawJson('9223372036854775807');

const getdeploymentinfo = rpcMethod({
  name: 'getdeploymentinfo',
  category: 'blockchain',
  help: 'Returns the state of the soft forks at a block. Deployments that never become active are not listed.',
  params: [
    optional(hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Block to describe; the tip by default.' }), null),
  ],
  result: obj({
    hash: hashStr('hash of the block'),
    height: int('height of the block'),
    script_flags: arr(str(), 'flags for the verification of its scripts'),
    deployments: mapOf(
      'name',
      obj({
        type: str('buried or bip9'),
        height: maybe(int('first height with the new rules, if it is known')),
        active: bool('whether the rules hold for the next block'),
        bip9: maybe(
          obj(
            {
              bit: maybe(int('bit of the block version; only while signals count')),
              start_time: unixTime('median time from which blocks may signal'),
              timeout: unixTime('median time at which the deployment fails'),
              min_activation_height: int('no earlier block can activate it'),
              status: str('defined, started, locked_in, active or failed'),
              since: int('height at which the status began'),
              status_next: str('status of the next block'),
              statistics: maybe(
                obj(
                  {
                    period: int('length of a signalling period in blocks'),
                    threshold: maybe(int('blocks that must signal; only while the status is started')),
                    elapsed: int('blocks of the current period so far'),
                    count: int('blocks of them that signal'),
                    possible: maybe(bool('whether the threshold can still be reached in this period')),
                  },
                  'signals of the current period; only while the status is started or locked_in',
                ),
              ),
              signalling: maybe(str('one character per block of the period: # signals, - does not')),
            },
            'state of the version bit (BIP-9); only for type bip9',
          ),
        ),
      }),
      'state of each deployment',
    ),
  }),
  examples: [example([]), example([EXAMPLE.blockHash])],
  scope: 'read',
  run(env, blockHash) {
    const { reads, tip, params } = env;
    const entry = new StoredEntry(reads, blockHash ? findBlock(env, blockHash) : tip);
    const { height } = entry;
    const buried = BURIED_DEPLOYMENTS.map((name) => {
      const from = activationHeight(name, params.consensus);
      return [name, { type: 'buried', active: height + 1 >= from, height: from }];
    });
    return {
      hash: hashToHex(entry.hash),
      height,
      script_flags: scriptFlagNames(blockScriptFlags(entry.hash, height, params.consensus)).sort(),
      deployments: Object.fromEntries([...buried, ...signalled(env, entry)]),
    };
  },
});

function signalled({ params: { consensus }, expectWork }: ReadEnv, entry: StoredEntry) {
  const cache = new VersionBitsCache();
  return Object.entries(consensus.deployments).flatMap(([name, deployment]) => {
    const { startTime, timeout, bit, minActivationHeight } = deployment;
    if (startTime === 'never-active') return [];
    // All periods back to the start are counted.
    expectWork(entry.height * HEADER_US);
    const info = bip9Info(entry, consensus, name as DeploymentName, cache);
    const { statistics, signalling, activeSince } = info;
    const view = {
      type: 'bip9',
      ...(activeSince !== null && { height: activeSince }),
      active: activeSince !== null && activeSince <= entry.height + 1,
      bip9: {
        ...(statistics && { bit }),
        start_time: startTime === 'always-active' ? ALWAYS_ACTIVE : startTime,
        timeout: timeout === 'no-timeout' ? NO_TIMEOUT : timeout,
        min_activation_height: minActivationHeight,
        status: info.status,
        since: info.since,
        status_next: info.statusNext,
        ...(statistics && { statistics, signalling }),
      },
    };
    return [[name, view]];
  });
}

export const deploymentMethods: readonly RpcMethod[] = [getdeploymentinfo];
