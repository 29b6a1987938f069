# One image, two commands: the API (the default) and a worker (`node workers/main.ts`).
FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:24-slim AS console
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY client ./client
COPY shared ./shared
COPY console ./console
COPY tsconfig.json ./
RUN npm run build:console

FROM node:24-slim
# The threads that files, DNS and password hashes share, as the npm scripts set them.
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY shared ./shared
COPY workflows ./workflows
COPY client ./client
COPY api ./api
COPY workers ./workers
COPY --from=console /app/console/dist ./console/dist
RUN mkdir /data && chown node:node /data
USER node
ENV HOST=0.0.0.0 PORT=8088 DATA_DIR=/data
EXPOSE 8088
# 30 s: migrations of a new release run before the first answer.
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthcheck`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "api/main.ts"]
