import type { ModelMiddleware } from '../../middleware/middleware.js';

const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}/g;

/** Replaces e-mail addresses in the messages of users before they are sent to the vendor. */
export const maskEmails: ModelMiddleware = {
  name: 'maskEmails',
  async call(call, next) {
    const messages = call.request.messages.map((message) => {
      if (message.role !== 'user') return message;
      const content = message.content.map((part) =>
        part.type === 'text' ? { ...part, text: part.text.replaceAll(EMAIL, '(e-mail)') } : part,
      );
      return { ...message, content };
    });
    return await next({ ...call, request: { ...call.request, messages } });
  },
};
