/**
 * The environment variables that the programs of Postgres need. Others may be secrets, or settings for clients of
 * Postgres.
 */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TZ', 'TMPDIR'];

/** Everyone who may read the server process can read its environment, so the server gets only what it needs. */
export function serverEnvironment(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(NEEDED.flatMap((name) => (ours[name] ? [[name, ours[name]]] : []))), LC_ALL: 'C' };
}
