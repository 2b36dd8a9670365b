import { rmSync } from 'node:fs';

export default async function teardown() {
  const { postgres, folder } = globalThis.testPostgres;
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
