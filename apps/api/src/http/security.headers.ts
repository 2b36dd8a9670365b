/** The headers of Helmet that an API needs: no caching, no embedding in a page, no MIME sniffing. */
export const API_HEADERS: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A page also needs scripts, styles (Swagger UI uses inline styles), and protection from other pages. */
export const PAGE_HEADERS: Record<string, string> = {
  ...API_HEADERS,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "font-src 'self'; connect-src 'self'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** RFC 6797 forbids this header on plain HTTP, so it is sent only if the proxy reports that the client uses HTTPS. */
export const HSTS = ['strict-transport-security', 'max-age=31536000; includeSubDomains'] as const;
