import { ByteReader, ByteWriter } from '../util/bytes.ts';

/** Encodes scripts into one byte array, each after its length. */
export function packScripts(scripts: Iterable<Uint8Array>): Uint8Array {
  const w = new ByteWriter();
  for (const script of scripts) {
    w.u32(script.length);
    w.bytes(script);
  }
  return w.finish();
}

/** Yields the scripts that `packScripts` has encoded. */
export function* unpackScripts(packed: Uint8Array): Generator<Uint8Array> {
  const r = new ByteReader(packed);
  while (r.remaining > 0) yield r.bytes(r.u32());
}
