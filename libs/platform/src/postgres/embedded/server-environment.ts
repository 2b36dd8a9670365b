/**
 * The environment variables that the programs of Postgres need. Other variables may be secrets, or settings for clients
 * of Postgres.
 */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TZ', 'TMPDIR'];

/** Any user who may inspect the server process can read its environment, so the server gets only the variables it needs. */
export function serverEnvironment(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(NEEDED.flatMap((name) => (ours[name] ? [[name, ours[name]]] : []))), LC_ALL: 'C' };
}
