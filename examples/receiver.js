// @ts-check
/**
 * A receiver of webhooks. Needs Node 20 or newer and no packages:
 *
 *   SECRET=whsec_… PORT=9000 node examples/receiver.js
 *
 * Rollcall sends an event again until the response is 2xx. So store the event first, and then respond.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const key = Buffer.from((process.env.SECRET ?? '').replace('whsec_', ''), 'base64');

/** Whether the signature is valid and recent. @param {import('node:http').IncomingHttpHeaders} headers @param {Buffer} body */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  const expected = createHmac('sha256', key).update([id, time, ''].join('.')).update(body).digest();
  const received = String(signatures)
    .split(' ')
    .map((one) => Buffer.from(one.replace('v1,', ''), 'base64'));
  const isSigned = received.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  return isSigned && Math.abs(Date.now() / 1000 - Number(time)) < 300;
}

/** @param {import('node:http').IncomingMessage} request @returns {Promise<number>} the status of the response */
async function receive(request) {
  const body = Buffer.concat(await request.toArray());
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body.toString()); // an `id` that you have stored already is a repetition
  console.log(Number(event.sequence), event.type, event.subject);
  return 204; // return this only after the event is stored
}

createServer((request, response) => {
  const end = (/** @type {number} */ status) => response.writeHead(status).end();
  receive(request).then(end, () => end(500)); // Rollcall sends the event again
}).listen(Number(process.env.PORT ?? 9000), '127.0.0.1');
