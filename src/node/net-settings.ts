import { join } from 'node:path';
import { usesDnsSeeds } from '../config/p2p-settings.ts';
import type { ProxiedNetwork, ProxyRule } from '../config/private-network-settings.ts';
import { type Address, hostPortText } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import { parseService } from '../p2p/address/address-text.ts';
import type { Asmap } from '../p2p/address/asmap.ts';
import type { NetService } from '../p2p/address/net-address.ts';
import type { ListenTarget, NetOptions } from '../p2p/connections/net-options.ts';
import { type PermissionRule, parsePermissionRule } from '../p2p/connections/permissions.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { OperatorError } from '../util/operator-error.ts';
import { readSecretFile } from './secret-file.ts';

const MEBIBYTE = 1024 * 1024;

/** Returns the options of connections to peers. Throws OperatorError. */
export function netOptionsOf(config: Config, params: NetworkParams, asmap: Asmap | null): NetOptions {
  const { p2p, networkDir } = config;
  const { externalAddress, maxConnections, onlyNetworks } = p2p;
  const listen = [...p2p.listen, ...onionListeners(config, params)];
  const port = p2p.listen.find((target) => target.port !== 0)?.port ?? params.ports.p2p;
  const { proxies, nameProxy } = proxiesOf(p2p.proxy, p2p.onionProxy);
  return {
    params: p2p.dnsSeedHosts.length > 0 ? { ...params, dnsSeeds: p2p.dnsSeedHosts } : params,
    networkActive: p2p.networkActive,
    listen,
    autoConnect: p2p.autoConnect,
    maxConnections,
    onlyNetworks,
    proxies,
    nameProxy,
    proxyRandomize: p2p.proxyRandomize,
    i2pSam: p2p.i2pSam,
    i2pKeyFile: p2p.i2pSam !== null && p2p.i2pAcceptIncoming ? join(config.networkDir, 'i2p_private_key') : null,
    onionService: onionServiceOf(config),
    cjdns: p2p.cjdns,
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
    externalAddresses: externalAddress.map((address) => externalService(address, port)),
    // As in Core: behind a proxy, or where the address is configured, the node does not discover its own address.
    discover:
      p2p.discover &&
      p2p.listen.length > 0 &&
      p2p.proxy.every(({ address }) => address === null) &&
      externalAddress.length === 0,
    privateBroadcast: p2p.privateBroadcast,
    capture:
      p2p.captureMessages === 0
        ? null
        : { dir: join(networkDir, 'message_capture'), limit: p2p.captureMessages * MEBIBYTE },
    banTime: p2p.banTime,
    asmap,
    checkAddresses: p2p.checkAddresses,
  };
}

/** Each rule replaces the proxies of its networks, as Core's -proxy does. */
function proxiesOf(rules: readonly ProxyRule[], onionProxy: Address | 'none' | null) {
  const proxies: Partial<Record<ProxiedNetwork, Address | null>> = {};
  let nameProxy: Address | null = null;
  for (const { address, network } of rules) {
    for (const one of network === null ? (['ipv4', 'ipv6', 'onion', 'cjdns'] as const) : [network])
      proxies[one] = address;
    // A proxy that is left out for one network still resolves names, so that no DNS server learns them.
    if (network === null || ((network === 'ipv4' || network === 'ipv6') && address !== null)) nameProxy = address;
  }
  if (onionProxy !== null) proxies.onion = onionProxy === 'none' ? null : onionProxy;
  return { proxies, nameProxy };
}

/**
 * Returns the addresses that listen for peers of onion services. With a Tor that makes one, and none configured, it is
 * the port behind that of other peers on loopback, as in Core.
 */
function onionListeners({ p2p }: Config, params: NetworkParams): ListenTarget[] {
  if (p2p.listenOnion.length > 0 || p2p.torControl === null)
    return p2p.listenOnion.map((address) => ({ ...address, isOnion: true }));
  const port = p2p.listen[0]?.port ?? params.ports.p2p;
  return [{ host: '127.0.0.1', port: port === 0 ? 0 : port + 1, isOnion: true }];
}

function onionServiceOf({ p2p, networkDir }: Config): NetOptions['onionService'] {
  const { torControl, torPasswordFile } = p2p;
  if (torControl === null) return null;
  return {
    control: torControl,
    password: torPasswordFile === null ? null : torPassword(torPasswordFile),
    keyFile: join(networkDir, 'onion_v3_private_key'),
  };
}

function torPassword(file: string): string {
  const name = `p2p.torPasswordFile: ${file}`;
  const bytes = readSecretFile(file, { name, kind: 'password', isOwn: true });
  const text = new TextDecoder().decode(bytes);
  bytes.fill(0);
  if (/\p{Cc}/u.test(text)) throw new OperatorError(`${name} has control characters`, { isOfSettings: true });
  return text;
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

function externalService({ host, port }: Address, defaultPort: number): NetService {
  const text = host.includes(':') ? `[${host}]` : host;
  const service = parseService(port === 0 ? text : `${text}:${port}`, defaultPort);
  if (service === null)
    throw new OperatorError(`p2p.externalAddress: ${text} is not a numeric address or onion service`, {
      isOfSettings: true,
    });
  return service;
}
