import type { ServerResponse } from 'node:http';
import { PacedConnection } from '#rollcall/test-support';
import { type SseProtocol, SseWriter } from './sse.writer.js';
import { shuttingDown, slowConsumer, type StreamEnd } from './stream.end.js';

const writerTo = (connection: PacedConnection, slowAfterMs = 60_000): SseWriter =>
  new SseWriter(connection as unknown as ServerResponse, { buffer: 4, slowAfterMs });

/** A protocol that records what it is called with. */
class Recorder implements SseProtocol {
  readonly cursor = '7';
  readonly calls: string[] = [];
  onEnd = ({ code }: StreamEnd): void => void this.calls.push(code);
  onBeat = (): void => void this.calls.push('beat');
  onDrain = (): void => void this.calls.push('drain');
  onClosed = (): void => void this.calls.push('closed');
}

describe('the writer of server-sent events', () => {
  it('waits until the client has read, and reports that the buffer has space', async () => {
    const connection = new PacedConnection();
    const writer = writerTo(connection);
    const protocol = new Recorder();
    writer.attach(protocol);
    let resumed = 0;
    const sent = writer.send('first');
    writer.onceSpace(() => (resumed += 1));
    expect([writer.isFull, writer.buffered]).toEqual([true, 5]);
    connection.read();
    expect([await sent, writer.isFull, resumed, protocol.calls]).toEqual([true, false, 1, ['drain']]);
    expect(await writer.send('second')).toBe(true);
    expect(resumed).toBe(1);
  });

  it('disconnects a client whose buffer stays full', async () => {
    const connection = new PacedConnection();
    const writer = writerTo(connection, 1);
    expect(await writer.send('first')).toBe(false);
    expect([connection.destroyed, writer.open]).toEqual([true, false]);
  });

  it('stops waiting when the client leaves, and writes nothing afterwards', async () => {
    const connection = new PacedConnection();
    const writer = writerTo(connection);
    const protocol = new Recorder();
    writer.attach(protocol);
    const sent = writer.send('first');
    connection.destroy();
    expect([await sent, protocol.calls]).toEqual([false, ['closed']]);
    writer.write('second');
    writer.beat();
    writer.finish('third');
    expect([await writer.send('fourth'), connection.written]).toEqual([false, 'first']);
  });

  it('sends a comment to keep the connection alive, and informs the protocol', () => {
    const connection = new PacedConnection(true);
    const writer = writerTo(connection);
    const protocol = new Recorder();
    writer.attach(protocol);
    writer.beat();
    expect([connection.written, protocol.calls]).toEqual([': heartbeat\n\n', ['beat']]);
  });

  it('lets the protocol write the reason of an end, except for a client that does not read', () => {
    const [reading, slow] = [new PacedConnection(true), new PacedConnection()];
    const protocol = new Recorder();
    for (const connection of [reading, slow]) {
      const writer = writerTo(connection);
      writer.attach(protocol);
      expect(writer.cursor).toBe('7');
      writer.end(connection === reading ? shuttingDown(writer.cursor) : slowConsumer('Resume'));
    }
    expect(protocol.calls).toEqual(['SHUTTING_DOWN']);
    expect([reading.destroyed, slow.destroyed]).toEqual([false, true]);
  });

  it('ends the response if the protocol has no reason to write', () => {
    const connection = new PacedConnection(true);
    const writer = writerTo(connection);
    writer.end(shuttingDown());
    expect([connection.writableEnded, connection.written, writer.cursor]).toEqual([true, '', undefined]);
  });
});
