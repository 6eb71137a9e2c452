import { createHash } from 'node:crypto';
import { type LineClient, type LineServer, lineServer } from './line-server.ts';

/** A private key whose destination has a certificate of four bytes. */
export function keyOf(seed: number): Uint8Array {
  const key = new Uint8Array(391 + 64).fill(seed);
  key.set([0, 4], 385);
  return key;
}
export const i2pBase64 = (bytes: Uint8Array) =>
  Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('/', '~');
export const destination = (seed: number) => keyOf(seed).subarray(0, 391);
export const addressOf = (seed: number) => ({
  network: 'i2p' as const,
  bytes: new Uint8Array(createHash('sha256').update(destination(seed)).digest()),
});
export const PEER = { address: addressOf(50), port: 0 };

/** The part of an I2P router that the node uses. New keys are numbered from 1. */
export function router(replies: (client: LineClient, line: string) => string | null = () => null): LineServer {
  let keys = 0;
  const answer = (line: string): string => {
    if (line.startsWith('HELLO')) return 'HELLO REPLY RESULT=OK VERSION=3.1';
    if (line.startsWith('DEST GENERATE')) return `DEST REPLY PUB=x PRIV=${i2pBase64(keyOf(++keys))}`;
    const [, key] = /^SESSION CREATE .*DESTINATION=(\S+)/.exec(line) ?? [];
    if (key !== undefined)
      return `SESSION STATUS RESULT=OK DESTINATION=${key === 'TRANSIENT' ? i2pBase64(keyOf(++keys)) : key}`;
    if (line.startsWith('NAMING')) return `NAMING REPLY RESULT=OK NAME=x VALUE=${i2pBase64(destination(50))}`;
    return 'STREAM STATUS RESULT=OK';
  };
  return lineServer((client, line) => client.send(`${replies(client, line) ?? answer(line)}\n`));
}
