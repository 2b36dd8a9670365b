import type { Contestant } from './compare.js';
import { HAS_NGINX, NginxProxy } from './nginx.js';

/** nginx with the shipped configuration in front of one server; undefined, with a message, where it is not installed. */
export async function startNginx(url: string): Promise<NginxProxy | undefined> {
  if (HAS_NGINX) return await NginxProxy.start([url, url]);
  console.log('nginx is not installed (Debian package nginx): the runs through it are skipped');
  return undefined;
}

/** The same load through the proxy, if there is one. */
export function throughNginx(contestant: Contestant, nginx: NginxProxy | undefined): Contestant[] {
  if (!nginx) return [];
  const load = { ...contestant.load, url: nginx.url };
  return [{ ...contestant, name: `${contestant.name} through nginx`, load }];
}
