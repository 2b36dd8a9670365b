import { Webhook } from 'standardwebhooks';
import { newWebhookSecret, signedHeaders } from './webhook.signature.js';

const BODY = '{"type":"agent.left","subject":"bäckerei-1"}';
const now = (): number => Math.floor(Date.now() / 1_000);

describe('the signature of a delivery', () => {
  it('the reference library of Standard Webhooks accepts a signature, and rejects it for another body or secret', () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders('e-1', now(), BODY, [secret]);
    expect(new Webhook(secret.reveal()).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    expect(() => new Webhook(secret.reveal()).verify(`${BODY} `, headers)).toThrow('No matching signature');
    expect(() => new Webhook(newWebhookSecret().reveal()).verify(BODY, headers)).toThrow('No matching signature');
  });

  it('a signature is valid for both secrets during a rotation', () => {
    const [one, two] = [newWebhookSecret(), newWebhookSecret()];
    const headers = signedHeaders('e-1', now(), BODY, [two, one]);
    for (const secret of [one, two]) expect(new Webhook(secret.reveal()).verify(BODY, headers)).toBeDefined();
  });

  it('a receiver that checks the timestamp rejects the signature of an old delivery', () => {
    const secret = newWebhookSecret();
    const headers = signedHeaders('e-1', now() - 3_600, BODY, [secret]);
    expect(() => new Webhook(secret.reveal()).verify(BODY, headers)).toThrow('too old');
  });
});
