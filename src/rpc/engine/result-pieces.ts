import { JsonText, LongText } from './method.ts';
import type { JsonPieces } from './reply-body.ts';

/** Returns a result as JSON text. The long texts among its members are not copied. */
export function resultPieces(value: unknown): JsonPieces {
  if (Number.isSafeInteger(value)) return [String(value)];
  if (value instanceof JsonText) return value.pieces;
  if (typeof value !== 'object' || value === null || !Object.values(value).some((member) => member instanceof LongText))
    return [JSON.stringify(value ?? null)];
  const pieces: (string | Uint8Array)[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    pieces.push(`${pieces.length === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    if (member instanceof LongText) pieces.push('"', ...member.text.pieces, '"');
    else pieces.push(JSON.stringify(member));
  }
  pieces.push('}');
  return pieces;
}
