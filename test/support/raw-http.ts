import { connect } from 'node:net';

/** Sends the text unchanged and returns everything that the server sends until it closes the connection. */
export async function rawHttp(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined); // the server may close before everything is sent; its response still arrives
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Returns a request whose body is announced but never sent: only a server that does not wait for the body responds. */
export function withoutBody(method: string, path: string, headers: Record<string, string>): string {
  const all = {
    host: 'here',
    connection: 'close',
    'content-type': 'application/json',
    'content-length': '9',
    ...headers,
  };
  return `${method} ${path} HTTP/1.1\r\n${linesOf(all)}\r\n`;
}

/** Returns a request that can be repeated on one connection. */
export function withBody(path: string, headers: Record<string, string>, body: object): string {
  const text = JSON.stringify(body);
  const all = { ...headers, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  return `POST ${path} HTTP/1.1\r\n${linesOf(all)}\r\n${text}`;
}

function linesOf(headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return lines.join('');
}
