import type { Contestant } from './compare.js';
import { HAS_NGINX, NginxProxy } from './nginx.js';

/** Starts nginx with deploy/nginx.conf in front of one server. If nginx is not installed, prints a message and returns undefined. */
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
