import { json } from '../http/route-description.ts';
import { endpoint } from './endpoint.ts';
import { TICKET } from './schemas/event-schemas.ts';

/** A ticket lets a page open one WebSocket with the rights of the key, without seeing the key. */
export const ticketEndpoint = endpoint({
  name: 'create-ws-ticket',
  method: 'POST',
  path: '/api/ws-ticket',
  tag: 'events',
  summary: 'A ticket for one WebSocket: GET /ws?ticket=…, once, within a minute',
  response: json(TICKET),
  serve:
    (ctx) =>
    ({ request }) =>
      ctx.issueTicket(ctx.call(request).principal),
});
