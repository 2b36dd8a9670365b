let second = 0;
let line = '';

/** As Node writes it, made once a second. */
export function dateHeader(): string {
  const now = Date.now();
  if (now - second >= 1_000 || now < second) {
    second = now - (now % 1_000);
    line = `Date: ${new Date(now).toUTCString()}\r\n`;
  }
  return line;
}
