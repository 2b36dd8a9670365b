// @ts-check
/**
 * A receiver of webhooks. Needs Node 20 or newer and no packages:
 *
 *   SECRET=whsec_… PORT=9000 node examples/receiver.js
 *
 * Whatever is not answered with 2xx is sent again, so it answers 204 only after it has stored the event.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const key = Buffer.from((process.env.SECRET ?? '').replace('whsec_', ''), 'base64');

/** The signature is right and recent. @param {import('node:http').IncomingHttpHeaders} headers @param {Buffer} body */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  const right = createHmac('sha256', key).update([id, time, ''].join('.')).update(body).digest();
  const given = String(signatures)
    .split(' ')
    .map((one) => Buffer.from(one.replace('v1,', ''), 'base64'));
  const isSigned = given.some((one) => one.length === right.length && timingSafeEqual(one, right));
  return isSigned && Math.abs(Date.now() / 1000 - Number(time)) < 300;
}

/** @param {import('node:http').IncomingMessage} request @returns {Promise<number>} the status to answer */
async function receive(request) {
  const body = Buffer.concat(await request.toArray());
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body.toString()); // seen its `id` before? then it is a repetition
  console.log(event.sequence, event.type, event.subject);
  return 204; // only after you have stored it
}

createServer((request, response) => {
  const end = (/** @type {number} */ status) => response.writeHead(status).end();
  receive(request).then(end, () => end(500)); // broken off, or not stored: it comes again
}).listen(Number(process.env.PORT ?? 9000), '127.0.0.1');
