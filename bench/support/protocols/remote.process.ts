import { FakeA2aServer } from '#rollcall/providers/testing';

/** A remote A2A agent of the SDK that answers at once. It sends its URL to the process that started it. */
const server = await FakeA2aServer.start();
process.on('message', () => process.send?.(server.url));
process.on('disconnect', () => process.exit());
