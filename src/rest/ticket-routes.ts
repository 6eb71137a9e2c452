import { Elysia } from 'elysia';
import { access } from '../http/route-access.ts';
import type { RestContext } from './context.ts';

/** A ticket lets a page open one WebSocket with what its owner may see, and never see the key. */
export const ticketRoutes = (ctx: RestContext) =>
  new Elysia({ name: 'rest.tickets', tags: ['events'] }).post(
    '/api/ws-ticket',
    ({ request }) => ctx.issueTicket(ctx.call(request).principal),
    {
      parse: 'none',
      detail: { summary: 'A ticket for one WebSocket: GET /ws?ticket=…, once, within a minute', ...access('read') },
    },
  );
