import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { closeSignal } from './close.signal.js';

function replyOn(raw: EventEmitter & { destroyed: boolean }): FastifyReply {
  return { raw } as unknown as FastifyReply;
}

it('R-6 the signal is aborted when the client leaves, and at once if it has left before', () => {
  const connected = Object.assign(new EventEmitter(), { destroyed: false });
  const signal = closeSignal(replyOn(connected));
  expect(signal.aborted).toBe(false);
  connected.emit('close');
  expect(signal.aborted).toBe(true);
  expect(closeSignal(replyOn(Object.assign(new EventEmitter(), { destroyed: true }))).aborted).toBe(true);
});
