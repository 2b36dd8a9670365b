import { z } from 'zod';
import { setting } from './setting.js';

const LABEL = /^[\w./-]{1,63}=.{0,256}$/;
const DOMAIN = /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/;

export const catalog = z.strictObject({
  publicLabel: setting(
    z
      .string()
      .regex(LABEL)
      .transform((text) => ({ key: text.slice(0, text.indexOf('=')), value: text.slice(text.indexOf('=') + 1) }))
      .optional(),
    {
      env: 'ROLLCALL_CATALOG_LABEL',
      about:
        'The label of the agents that the public catalogs list (see catalogs.md). Anyone who can reach the API can then read the name, description, price, health and load of these agents without a credential. Without this setting, the catalogs are empty.',
      expects: 'a label and its value, such as visibility=public',
      defaultText: 'none',
    },
  ),
  publisher: setting(z.string().regex(DOMAIN).optional(), {
    env: 'ROLLCALL_CATALOG_PUBLISHER',
    about:
      'Your domain, which is part of all identifiers in the catalogs. Without it, they contain the host of `ROLLCALL_PUBLIC_URL`. Identifiers must not change, so set it before you publish.',
    expects: 'a domain such as example.com',
    defaultText: 'the host of the public URL',
  }),
});
