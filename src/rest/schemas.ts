import { t } from 'elysia';

/** A parameter of the query that may be left out; handlers check it, so that errors name it. */
export const text = (description: string) => t.Optional(t.String({ description }));

export const LIMIT = text('entries on a page');
export const CURSOR = text('nextCursor of the page before');
export const ADDRESS = t.Object({ address: t.String({ description: 'an address, or script:<hex>' }) });
