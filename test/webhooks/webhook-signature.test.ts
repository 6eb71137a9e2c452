import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { newWebhookSecret, signDelivery, webhookSecretBytes } from '../../src/webhooks/webhook-signature.ts';
import { isSignedBy } from '../lib/webhook-receiver.ts';

test('a signature is that of the Standard Webhooks specification', () => {
  // The example of the reference libraries.
  const secret = webhookSecretBytes('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')!;
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
  expect(signDelivery(message, [secret])).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a delivery is signed by each secret, and any change of id, time or body is noticed', () => {
  const parts = fc.record({
    id: fc.stringMatching(/^[a-z0-9-]{1,40}$/),
    timestamp: fc.integer({ min: 1, max: 4_000_000_000 }),
    body: fc.string({ unit: 'grapheme' }),
  });
  fc.assert(
    fc.property(parts, fc.integer({ min: 0, max: 2 }), fc.constantFrom('+', ' ', 'é'), (message, at, more) => {
      const secrets = Array.from({ length: 2 }, newWebhookSecret);
      const headers = {
        ...signDelivery(
          message,
          secrets.map((each) => webhookSecretBytes(each)!),
        ),
      };
      for (const secret of secrets) expect(isSignedBy({ headers, text: message.body }, secret)).toBe(true);
      const changed = [
        { headers: { ...headers, 'webhook-id': `${message.id}0` }, text: message.body },
        { headers: { ...headers, 'webhook-timestamp': String(message.timestamp + 1) }, text: message.body },
        { headers, text: message.body + more },
      ][at]!;
      for (const secret of secrets) expect(isSignedBy(changed, secret)).toBe(false);
      expect(isSignedBy({ headers, text: message.body }, newWebhookSecret())).toBe(false);
    }),
  );
});

test('a secret is whsec_ and the base64 of 24 to 64 bytes', () => {
  expect(webhookSecretBytes(newWebhookSecret())).toHaveLength(32);
  const text = (length: number) => `whsec_${Buffer.alloc(length, 9).toString('base64')}`;
  for (const length of [24, 32, 64]) expect(webhookSecretBytes(text(length))).toHaveLength(length);
  for (const bad of [text(23), text(65), text(32).slice(6), `${text(32)}\n`, text(32).replace('=', ''), 'whsec_', ''])
    expect([bad, webhookSecretBytes(bad)]).toEqual([bad, null]);
});
