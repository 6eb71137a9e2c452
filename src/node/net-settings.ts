import { join } from 'node:path';
import { usesDnsSeeds } from '../config/p2p-settings.ts';
import { hostPortText } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import { parseService } from '../p2p/address/address-text.ts';
import type { Asmap } from '../p2p/address/asmap.ts';
import type { NetService } from '../p2p/address/net-address.ts';
import type { NetOptions } from '../p2p/connections/net-options.ts';
import { type PermissionRule, parsePermissionRule } from '../p2p/connections/permissions.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { OperatorError } from '../util/operator-error.ts';

const MEBIBYTE = 1024 * 1024;

/** Returns the options of connections to peers. Throws OperatorError. */
export function netOptionsOf({ p2p, networkDir }: Config, params: NetworkParams, asmap: Asmap | null): NetOptions {
  const { listen, listenOnion, proxy, onionProxy, externalAddress, maxConnections, onlyNetworks } = p2p;
  return {
    params: p2p.dnsSeedHosts.length > 0 ? { ...params, dnsSeeds: p2p.dnsSeedHosts } : params,
    networkActive: p2p.networkActive,
    listen: [...listen, ...listenOnion.map((address) => ({ ...address, isOnion: true }))],
    autoConnect: p2p.autoConnect,
    maxConnections,
    onlyNetworks,
    proxy,
    onionProxy,
    connect: p2p.connect.map(hostPortText),
    inboundRelayPercent: p2p.inboundRelayPercent,
    peerTimeout: p2p.peerTimeout,
    v2: p2p.v2,
    permissions: permissionRules(p2p.permissions),
    seedNodes: p2p.seedNodes,
    dnsSeeds: usesDnsSeeds(p2p),
    forceDnsSeeds: p2p.forceDnsSeeds,
    fixedSeeds: p2p.fixedSeeds,
    maxUpload: p2p.maxUpload,
    externalAddresses: externalAddress.map((address) => externalService(hostPortText(address), params)),
    // As in Core: behind a proxy, or where the address is configured, the node does not discover its own address.
    discover: p2p.discover && listen.length > 0 && proxy === null && externalAddress.length === 0,
    capture:
      p2p.captureMessages === 0
        ? null
        : { dir: join(networkDir, 'message_capture'), limit: p2p.captureMessages * MEBIBYTE },
    banTime: p2p.banTime,
    asmap,
    checkAddresses: p2p.checkAddresses,
  };
}

/** Joins the words of a list that was split at all commas: words without an address belong to the next rule. */
export function permissionRules(texts: readonly string[]): PermissionRule[] {
  const rules: PermissionRule[] = [];
  let words = '';
  for (const text of texts) {
    if (/^[a-z]+$/.test(text)) {
      words += `${text},`;
      continue;
    }
    const rule = parsePermissionRule(words + text);
    if (typeof rule === 'string')
      throw new OperatorError(`p2p.permissions: ${words}${text}: ${rule}`, { isOfSettings: true });
    rules.push(rule);
    words = '';
  }
  if (words !== '')
    throw new OperatorError(`p2p.permissions: ${words.slice(0, -1)}: no address behind it`, { isOfSettings: true });
  return rules;
}

function externalService(text: string, { ports }: NetworkParams): NetService {
  const service = parseService(text, ports.p2p);
  if (service === null)
    throw new OperatorError(`p2p.externalAddress: ${text} is not a numeric address or onion service`, {
      isOfSettings: true,
    });
  return service;
}
